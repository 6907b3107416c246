import html
import xml.etree.ElementTree as ET
from urllib.parse import urlparse, parse_qs, urlencode

feed = """<feed><entry id="1"><title>A &amp; B</title><link href="https://x.org/?q=1&amp;r=2"/></entry>
<entry id="2"><title>C</title></entry></feed>"""

tree = ET.fromstring(feed)
entries = []
for entry in tree.iter("entry"):
    link = entry.find("link")
    query = parse_qs(urlparse(link.get("href")).query) if link is not None else {}
    entries.append({"id": entry.get("id"), "title": html.escape(entry.findtext("title", "")), "query": query})
print(urlencode({"count": len(entries)}))
entries
