# caisson run --config caisson.toml code_mode.py
#
# Two servers with twenty-seven tools, five calls. Without code the model would be sent all their
# definitions and every result. Here it is sent only the printed text.
import asyncio

cities = ["New York", "Chicago", "Los Angeles"]
weather = await asyncio.gather(*[demo_get_structured_content(location=city) for city in cities])
warmest = max(zip(cities, weather), key=lambda pair: pair[1]["temperature"])
notes = read_text_file(path="notes.txt")["content"]
print(f"{warmest[0]} is warmest; {len(notes.splitlines())} lines of notes")
demo_get_sum(a=2, b=40)
