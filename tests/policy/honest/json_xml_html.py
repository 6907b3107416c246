import html
import json
import xml.etree.ElementTree as ET
from html.parser import HTMLParser
from xml.dom import minidom


class Links(HTMLParser):
    def __init__(self):
        super().__init__()
        self.links = []

    def handle_starttag(self, tag, attrs):
        if tag == "a":
            self.links.append(dict(attrs).get("href"))


parser = Links()
parser.feed('<p><a href="/x">x</a><a href="/y?a=1&amp;b=2">y</a></p>')
root = ET.fromstring("<r><item id='1'><name>A</name></item><item id='2'/></r>")
print(parser.links, html.escape("<b>&</b>"), html.unescape("&eacute;"))
for item in root.iter("item"):
    print(item.get("id"), item.findtext("name", default="-"), item.attrib)
new = ET.SubElement(root, "item", id="3")
new.text = "three"
print(ET.tostring(root, encoding="unicode"))
print(minidom.parseString("<a><b/></a>").documentElement.tagName)


class Encoder(json.JSONEncoder):
    def default(self, o):
        if isinstance(o, set):
            return sorted(o)
        return super().default(o)


print(json.dumps({"s": {3, 1}, "é": None}, cls=Encoder, ensure_ascii=False, indent=2, sort_keys=True))
print(json.loads('{"a": [1, 2.5, true]}', parse_float=str))
try:
    json.loads("{bad}")
except json.JSONDecodeError as error:
    print(error.msg, error.lineno, error.colno)
