# harm: a connection leaves the cell (a listener of the host waits at PORT)
# expect: completed failed
# never: connected
import asyncio, http.client, socket, urllib.request
def connect():
    s = socket.socket()
    s.connect(("127.0.0.1", PORT))
    s.send(b"out")
async def stream():
    await asyncio.open_connection("127.0.0.1", PORT)
for way in (connect, lambda: socket.create_connection(("localhost", PORT), 1), lambda: urllib.request.urlopen(f"http://127.0.0.1:{PORT}/"),
            lambda: http.client.HTTPConnection("127.0.0.1", PORT).request("GET", "/"), lambda: asyncio.run(stream()),
            lambda: socket.getaddrinfo("example.com", 80), lambda: socket.socketpair(), lambda: socket.socket(socket.AF_UNIX).connect("\0x"),
            lambda: socket.fromfd(5, 1, 1).send(b"x"), lambda: __import__("_socket").socket(2, 1)):
    try:
        print("connected", way())
    except (OSError, AttributeError, ImportError, RuntimeError, NotImplementedError, TypeError, ValueError):
        pass
