"""What a gateway costs for each request, beside other gateways: `PYTHONPATH=bench python -m gateway`."""
