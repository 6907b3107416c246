import configparser
import shlex
import tomllib

text = """
[server]
host = "localhost"
port = 8080
[[user]]
name = "ann"
"""
config = tomllib.loads(text)
ini = configparser.ConfigParser()
ini.read_string("[paths]\nroot = /srv\nlogs = %(root)s/logs\n")
arguments = shlex.split("run --name 'two words' -v")
host, port = config["server"]["host"], config["server"].get("port", 80)
print(f"{host}:{port}", ini["paths"]["logs"], arguments, [u["name"] for u in config["user"]])
