# harm: entities that expand to entities (a billion laughs), or that name host files
# expect: completed failed limit/memory limit/wall_time
# limit: wall_seconds=3
import xml.etree.ElementTree as tree
laughs = '<!DOCTYPE x [<!ENTITY a "ha">' + "".join(
    f'<!ENTITY {chr(98 + i)} "{("&" + chr(97 + i) + ";") * 10}">' for i in range(9)) + "]><x>&j;</x>"
for source in (laughs, f'<!DOCTYPE x [<!ENTITY a SYSTEM "file://{CANARY_FILE}">]><x>&a;</x>'):
    try:
        print(len(tree.fromstring(source).text or ""))
    except tree.ParseError as error:
        print(error)
