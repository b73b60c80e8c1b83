"""Test certificates, and client contexts that trust them."""

from __future__ import annotations

import ssl
from datetime import UTC, datetime, timedelta
from ipaddress import ip_address
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat


def certificate(folder: Path, *names: str, days: int = 1) -> tuple[ssl.SSLContext, ssl.SSLContext]:
    """A server with a certificate for names and IP addresses, signed by itself, and a client that trusts
    it. It ends in so many days, or ended so many days ago."""
    key = ec.generate_private_key(ec.SECP256R1())
    subject = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, names[0])])
    ends = datetime.now(UTC) + timedelta(days=days)
    built = (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(subject)
        .public_key(key.public_key())
        .serial_number(1)
        .not_valid_before(ends - timedelta(days=9))
        .not_valid_after(ends)
        .add_extension(x509.SubjectAlternativeName([_named(name) for name in names]), critical=False)
        .sign(key, SHA256())
    )
    path = folder / "certificate.pem"
    private = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    path.write_bytes(private + built.public_bytes(Encoding.PEM))
    serving = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    serving.load_cert_chain(path)
    return serving, ssl.create_default_context(cafile=str(path))


def _named(name: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ip_address(name))
    except ValueError:
        return x509.DNSName(name)
