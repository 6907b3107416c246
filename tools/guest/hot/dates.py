import datetime

day = datetime.date(2024, 2, 28) + datetime.timedelta(days=2)
print(day.isoformat(), day.strftime("%A"))
