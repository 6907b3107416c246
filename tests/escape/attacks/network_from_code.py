# harm: a connection is made by what programs use every day
# engines: native
# expect: completed
# never: connected
import asyncio, ftplib, http.client, multiprocessing.connection, smtplib, socket, ssl, urllib.request, xmlrpc.client
async def stream():
    await asyncio.open_connection("127.0.0.1", PORT)
async def serve():
    if not (await asyncio.start_server(lambda *a: None, "127.0.0.1", 0)).sockets:
        raise OSError("a server without sockets")
for way in (lambda: socket.create_connection(("127.0.0.1", PORT), 1), lambda: urllib.request.urlopen(f"http://127.0.0.1:{PORT}/"), lambda: http.client.HTTPSConnection("127.0.0.1", PORT).connect(),
            lambda: asyncio.run(stream()), lambda: asyncio.run(serve()), lambda: ftplib.FTP("127.0.0.1"), lambda: smtplib.SMTP("127.0.0.1", PORT),
            lambda: xmlrpc.client.ServerProxy(f"http://127.0.0.1:{PORT}").x(), lambda: multiprocessing.connection.Client(("127.0.0.1", PORT)),
            lambda: multiprocessing.connection.Listener("\0abstract"), lambda: socket.getaddrinfo("localhost", PORT) and socket.socket(), lambda: socket.gethostbyname("example.com"),
            lambda: socket.if_nameindex(), lambda: ssl.get_server_certificate(("127.0.0.1", PORT))):
    try:
        print("connected", way())
    except (OSError, RuntimeError, ValueError, ImportError):
        pass
