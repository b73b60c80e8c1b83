"""URLs that lead, or might lead, to addresses that are not public."""

from __future__ import annotations

_HOSTS = """
127.0.0.1 127.1 127.0.1 127.255.255.254 2130706433 0x7f000001 0x7f.1 017700000001 0177.0.0.1 0 0.0.0.0
localhost localhost. LOCALHOST foo.localhost localhost.localdomain ip6-localhost
[::1] [::] [0:0:0:0:0:0:0:1] [::ffff:127.0.0.1] [::ffff:7f00:1] [::127.0.0.1] [::ffff:0:127.0.0.1]
[64:ff9b::7f00:1] [64:ff9b::a9fe:a9fe] [64:ff9b:1::a9fe:a9fe] [2002:7f00:1::] [2002:a9fe:a9fe::] [2001::1]
[fe80::1] [fe80::1%25eth0] [fc00::1] [fd00:ec2::254] [fec0::1] [ff02::1] [100::1] [2001:db8::1] [3fff::1]
[5f00::1]
10.0.0.1 172.16.0.1 172.31.255.255 192.168.0.1 169.254.169.254 169.254.170.2 100.64.0.1 100.100.100.200
192.0.0.192 168.63.129.16 192.0.2.1 198.18.0.1 198.51.100.1 203.0.113.5 224.0.0.1 240.0.0.1 255.255.255.255
①②⑦.⓪.⓪.① 127。0。0。1 １２７.0.0.1
metadata.google.internal host.docker.internal kubernetes.default.svc
"""
HOSTS = tuple(_HOSTS.split())

FORMS = (
    "file:///etc/passwd",
    "ftp://x",
    "gopher://127.0.0.1:6379/_",
    "http://good.test@127.0.0.1/",
    "http://127.0.0.1\\@good.test/",
    "http://good.test#@127.0.0.1/",
    "http://good.test:80@127.0.0.1/",
    "http://good.test:22/",
    "http:127.0.0.1",
)

ADDRESSES = (*(f"http://{host}/" for host in HOSTS), *FORMS)

PUBLIC = (
    "http://8.8.8.8/",
    "http://[2606:4700:4700::1111]/",
    "http://100.128.0.1/",
    "http://172.32.0.1/",
    "https://xn--bcher-kva.de/",
    "https://www.example.com/a?b=c",
    "http://example.org:443/",
    "https://example.org:80/",
    "http://[64:ff9b::808:808]/",
)

PRIVATE_ANSWERS = (
    *(
        "127.0.0.2",
        "10.1.2.3",
        "192.168.7.7",
        "169.254.169.254",
        "100.100.100.200",
        "168.63.129.16",
        "0.0.0.1",
    ),
    *("::1", "::", "::ffff:127.0.0.2", "::ffff:0:127.0.0.2", "64:ff9b::7f00:2", "64:ff9b:1::7f00:2"),
    *("2002:7f00:2::", "2001::1", "fe80::1", "fe80::1%1", "fd00:ec2::254", "fec0::1", "ff02::1", "5f00::1"),
    *("2600::5efe:7f00:2", "not an address"),
)
"""Private addresses to which a harmless name may resolve."""
