import calendar
from datetime import date, datetime, time, timedelta, timezone
from zoneinfo import ZoneInfo

start = date(2024, 2, 26)
days = [start + timedelta(days=n) for n in range(5)]
print([d.strftime("%a %d %b") for d in days], [d.isocalendar().week for d in days][:2])
meeting = datetime(2024, 3, 31, 1, 30, tzinfo=timezone.utc)
for zone in ("Europe/Paris", "America/New_York", "Asia/Tokyo"):
    print(zone, meeting.astimezone(ZoneInfo(zone)).isoformat())
print(calendar.monthrange(2024, 2), calendar.isleap(2023))
parsed = datetime.strptime("2024-01-31 23:59", "%Y-%m-%d %H:%M")
print(parsed + timedelta(minutes=2), (parsed - datetime(2023, 12, 31)).total_seconds())
print(datetime.combine(start, time(9, 15)).isoformat(), datetime.fromisoformat("2024-01-01T00:00:00+02:00").utcoffset())
print(datetime.fromtimestamp(0, timezone.utc).year)
