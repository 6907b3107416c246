"""Parses, in every way, an XML document without declarations, and three that declare entities."""

import io
import xml.dom.minidom
import xml.dom.pulldom
import xml.etree.ElementTree as ET
import xml.sax
import xmlrpc.client
from xml.parsers import expat


def document(declared, text):
    return f"<!DOCTYPE methodResponse [{declared}]><methodResponse>{text}</methodResponse>"


DOCUMENTS = [
    document("<!ELEMENT x ANY>", "&lt;&amp;&#65;"),
    document('<!ENTITY x "boom">', "&x;"),
    document('<!ENTITY x "boom">', '<i a="&x;"/>'),
    document("""<!ENTITY % p '<!ENTITY x "boom">'> %p;""", "&x;"),
]


def shown(element):
    return (element.text or "") + "".join(each.get("a", "") for each in element)


def by_iterparse(text):
    return [shown(element) for event, element in ET.iterparse(io.StringIO(text))][-1]


def by_pull_parser(text):
    parser = ET.XMLPullParser()
    parser.feed(text)
    return [shown(element) for event, element in parser.read_events()][-1]


def by_parser_that_is_fed_again(text):
    parser = ET.XMLParser()
    try:
        parser.feed(text)
    except ET.ParseError:
        parser.feed(text)
    return shown(parser.close())


def by_minidom(text):
    return shown(ET.fromstring(xml.dom.minidom.parseString(text).documentElement.toxml()))


def by_pulldom(text):
    events = xml.dom.pulldom.parseString(text)
    return "".join(node.data for event, node in events if event == xml.dom.pulldom.CHARACTERS)


def by_sax(text):
    found = []
    handler = xml.sax.ContentHandler()
    handler.characters = found.append
    xml.sax.parseString(text.encode(), handler)
    return "".join(found)


def by_expat(text):
    found = []
    parser = expat.ParserCreate()
    parser.EntityDeclHandler = None
    parser.CharacterDataHandler = found.append
    parser.Parse(text, True)
    return "".join(found)


def by_expat_that_goes_on(text):
    declared, rest = text.split("]>")
    found = []
    parser = expat.ParserCreate()
    try:
        parser.Parse(declared + "]>")
    except expat.ExpatError:
        pass
    parser.CharacterDataHandler = found.append
    parser.Parse(rest, True)
    return "".join(found)


def by_xmlrpc(text):
    head, body, tail = text.rpartition("<methodResponse>")
    value = tail.replace("</methodResponse>", "")
    return xmlrpc.client.loads(
        f"{head}{body}<params><param><value>{value}</value></param></params></methodResponse>")[0][0]


WAYS = {
    "fromstring": lambda text: shown(ET.fromstring(text)),
    "utf-16": lambda text: shown(ET.fromstring(text.encode("utf-16"))),
    "parse": lambda text: shown(ET.parse(io.StringIO(text)).getroot()),
    "iterparse": by_iterparse,
    "pull": by_pull_parser,
    "fed again": by_parser_that_is_fed_again,
    "minidom": by_minidom,
    "pulldom": by_pulldom,
    "sax": by_sax,
    "expat": by_expat,
    "goes on": by_expat_that_goes_on,
    "xmlrpc": by_xmlrpc,
}


def tried(way, text):
    try:
        return way(text)
    except Exception as error:
        return str(error)


{name: [tried(way, text) for text in DOCUMENTS] for name, way in WAYS.items()}
