"""Replaces the C module, for which WebAssembly has no system calls.

`import socket`, and with it asyncio, urllib and http, works; opening a connection does not."""

_REASON = "code here has no network; use the host's tools instead"

error = OSError
timeout = TimeoutError
has_ipv6 = False
SocketType = None
CAPI = None


class herror(OSError):
    pass


class gaierror(OSError):
    pass


AF_UNSPEC, AF_UNIX, AF_INET, AF_INET6 = 0, 1, 2, 10
SOCK_STREAM, SOCK_DGRAM, SOCK_RAW, SOCK_RDM, SOCK_SEQPACKET = 1, 2, 3, 4, 5
SOCK_CLOEXEC, SOCK_NONBLOCK = 0o2000000, 0o4000
SOL_SOCKET, SO_REUSEADDR, SO_TYPE, SO_ERROR, SO_BROADCAST = 1, 2, 3, 4, 6
SO_SNDBUF, SO_RCVBUF, SO_KEEPALIVE, SO_LINGER, SO_REUSEPORT = 7, 8, 9, 13, 15
SOMAXCONN = 128
IPPROTO_IP, IPPROTO_ICMP, IPPROTO_TCP, IPPROTO_UDP, IPPROTO_IPV6 = 0, 1, 6, 17, 41
TCP_NODELAY, TCP_MAXSEG, TCP_KEEPIDLE, TCP_KEEPINTVL, TCP_KEEPCNT = 1, 2, 4, 5, 6
IPV6_V6ONLY = 26
MSG_OOB, MSG_PEEK, MSG_DONTROUTE, MSG_WAITALL, MSG_DONTWAIT, MSG_NOSIGNAL = 1, 2, 4, 256, 64, 16384
SHUT_RD, SHUT_WR, SHUT_RDWR = 0, 1, 2
AI_PASSIVE, AI_CANONNAME, AI_NUMERICHOST, AI_NUMERICSERV, AI_ADDRCONFIG = 1, 2, 4, 1024, 32
EAI_AGAIN, EAI_FAIL, EAI_FAMILY, EAI_NONAME, EAI_SERVICE = -3, -4, -6, -2, -8
NI_NUMERICHOST, NI_NUMERICSERV, NI_NAMEREQD, NI_DGRAM = 1, 2, 8, 16
INADDR_ANY, INADDR_BROADCAST, INADDR_LOOPBACK, INADDR_NONE = 0, 0xFFFFFFFF, 0x7F000001, 0xFFFFFFFF


class socket:
    __slots__ = ()  # socket.socket adds its own.

    def __init__(self, *args, **kwargs):
        raise OSError(_REASON)

    def __del__(self):
        pass


SocketType = socket


def _refused(*args, **kwargs):
    raise OSError(_REASON)


getaddrinfo = getnameinfo = gethostbyname = gethostbyname_ex = gethostbyaddr = _refused
socketpair = getservbyname = getservbyport = getprotobyname = dup = close = _refused
if_nameindex = if_nametoindex = if_indextoname = sethostname = _refused

_default_timeout = None


def gethostname():
    return "cell"


def getdefaulttimeout():
    return _default_timeout


def setdefaulttimeout(timeout):
    global _default_timeout
    _default_timeout = timeout


def htons(x):
    return int.from_bytes(x.to_bytes(2, "little"), "big")


def htonl(x):
    return int.from_bytes(x.to_bytes(4, "little"), "big")


ntohs, ntohl = htons, htonl


def inet_aton(text):
    parts = text.split(".")
    if len(parts) != 4 or not all(p.isdigit() and int(p) < 256 for p in parts):
        raise OSError("illegal IP address string passed to inet_aton")
    return bytes(int(p) for p in parts)


def inet_ntoa(packed):
    if len(packed) != 4:
        raise OSError("packed IP wrong length")
    return ".".join(str(b) for b in packed)


def inet_pton(family, text):
    import ipaddress

    kind = ipaddress.IPv4Address if family == AF_INET else ipaddress.IPv6Address
    try:
        return kind(text).packed
    except ValueError as bad:
        raise OSError("illegal IP address string passed to inet_pton") from bad


def inet_ntop(family, packed):
    import ipaddress

    kind = ipaddress.IPv4Address if family == AF_INET else ipaddress.IPv6Address
    return str(kind(packed))
