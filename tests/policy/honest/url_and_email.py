import ipaddress
import mimetypes
from email.message import EmailMessage
from email.utils import parseaddr
from urllib.parse import parse_qs, quote, unquote, urlencode, urljoin, urlparse, urlunparse

url = urlparse("https://user@example.org:8443/a/b;p?q=1&q=2&x=%20#frag")
print(url.scheme, url.hostname, url.port, url.path, parse_qs(url.query), url._replace(fragment="").geturl())
print(urlencode({"a": 1, "b": "x y"}), quote("a b/ü"), unquote("%C3%BC"), urljoin("http://h/a/b", "../c"))
message = EmailMessage()
message["Subject"] = "Hi"
message["To"] = "Ann <ann@example.org>"
message.set_content("Body")
print(message["to"], parseaddr(message["To"]), message.get_content().strip())
print(ipaddress.ip_address("10.0.0.1").is_private, list(ipaddress.ip_network("10.0.0.0/30").hosts()))
print(mimetypes.guess_type("x.csv")[0])
