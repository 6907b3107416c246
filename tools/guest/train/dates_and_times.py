# datetime arithmetic, parsing, formatting, calendars.
import calendar
import time
from collections import Counter
from datetime import date, datetime, timedelta, timezone

start = date(2024, 1, 1)
days = [start + timedelta(days=i) for i in range(366)]
print(Counter(d.strftime("%A") for d in days).most_common(2), sum(1 for d in days if d.weekday() < 5), days[-1].isoformat(), start.isocalendar())
stamps = [f"2024-{i % 12 + 1:02d}-{i % 28 + 1:02d}T{i % 24:02d}:{i % 60:02d}:00+00:00" for i in range(400)]
parsed = [datetime.fromisoformat(s) for s in stamps]
print(max(parsed) - min(parsed), sorted(parsed)[200].isoformat(), parsed[3].timestamp(), datetime.fromtimestamp(1_700_000_000, timezone.utc))
for text in ("03/04/2024 15:30", "25/12/2023 00:01") * 20:
    moment = datetime.strptime(text, "%d/%m/%Y %H:%M")
print(moment.strftime("%Y-%m-%d %I:%M %p %j"), moment.replace(hour=5), moment.astimezone(timezone(timedelta(hours=2))) if moment.tzinfo else moment.date())
print(calendar.monthrange(2024, 2), calendar.isleap(1900), timedelta(days=1, hours=3) / 3, (date(2024, 12, 25) - date(2024, 3, 1)).days, str(timedelta(seconds=98765)))


def add_months(d, n):
    month = d.month - 1 + n
    year, month = d.year + month // 12, month % 12 + 1
    return d.replace(year=year, month=month, day=min(d.day, calendar.monthrange(year, month)[1]))


print([add_months(date(2024, 1, 31), i).isoformat() for i in range(0, 30, 7)])
age = lambda born, today: today.year - born.year - ((today.month, today.day) < (born.month, born.day))
print(sum(age(date(1950 + i % 50, i % 12 + 1, i % 28 + 1), date(2024, 6, 15)) for i in range(600)), time.monotonic() > 0)
