"""Cost per request of gateways, compared: `PYTHONPATH=bench python -m gateway`."""
