# harm: ctypes, or anything like it, reads and writes memory by address
# expect: completed
# never: there
# engines: wasm
for name in ("ctypes", "_ctypes", "cffi", "_cffi_backend", "mmap", "_posixshmem", "_testcapi", "_testinternalcapi",
             "_xxsubinterpreters", "_multiprocessing", "fcntl", "resource", "_posixsubprocess", "select.epoll"):
    try:
        __import__(name)
        print("there is", name)
    except ImportError:
        pass
