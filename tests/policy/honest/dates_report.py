from datetime import date, datetime, timedelta, timezone
from zoneinfo import ZoneInfo
import calendar

start = date(2024, 1, 31)
month_ends = []
for month in range(1, 13):
    last = calendar.monthrange(2024, month)[1]
    month_ends.append(date(2024, month, last))

weekdays = [d.strftime("%a %d %b") for d in month_ends if d.weekday() < 5]
meeting = datetime(2024, 3, 10, 14, 30, tzinfo=ZoneInfo("Europe/Berlin"))
utc = meeting.astimezone(timezone.utc)
print(f"Meeting at {utc:%Y-%m-%d %H:%M} UTC, in {(meeting - datetime(2024, 3, 1, tzinfo=timezone.utc)).days} days")
print(weekdays)
(start + timedelta(weeks=2)).isoformat()
