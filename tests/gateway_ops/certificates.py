"""Certificates of an authority that only tests trust."""

from __future__ import annotations

import ssl
from datetime import UTC, datetime, timedelta
from ipaddress import ip_address
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat


class Authority:
    """A certificate authority."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._key = ec.generate_private_key(ec.SECP256R1())
        self._name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "a test")])
        begin = self._begin(self._name, self._key).add_extension(
            x509.BasicConstraints(ca=True, path_length=None), critical=True
        )
        self.root = folder / "root.pem"
        self.root.write_bytes(begin.sign(self._key, hashes.SHA256()).public_bytes(Encoding.PEM))

    def _begin(self, name: x509.Name, key: ec.EllipticCurvePrivateKey) -> x509.CertificateBuilder:
        now = datetime.now(UTC)
        builder = x509.CertificateBuilder(
            self._name, name, key.public_key(), x509.random_serial_number()
        )
        return builder.not_valid_before(now - timedelta(days=1)).not_valid_after(
            now + timedelta(days=1)
        )

    def server(self, name: str) -> ssl.SSLContext:
        """The TLS context of a server with this name or address."""
        key = ec.generate_private_key(ec.SECP256R1())
        known = x509.IPAddress(ip_address(name)) if name[0].isdigit() else x509.DNSName(name)
        begin = self._begin(x509.Name([]), key).add_extension(
            x509.SubjectAlternativeName([known]), critical=True
        )
        file = self._folder / f"{name}.pem"
        secret = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
        file.write_bytes(secret + begin.sign(self._key, hashes.SHA256()).public_bytes(Encoding.PEM))
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(file)
        return context

    def client(self) -> ssl.SSLContext:
        """The TLS context of a client that trusts this authority."""
        return ssl.create_default_context(cafile=str(self.root))
