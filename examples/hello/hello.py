# Prints output as it is produced, writes a file, and returns the value of the last expression.
#
#   caisson run hello.py
import statistics

print("hello from a cell")

rainfall = {"Mon": 3.1, "Tue": 0.0, "Wed": 12.4, "Thu": 7.7}
wettest = max(rainfall, key=rainfall.get)

with open("/output/rainfall.csv", "w") as file:
    for day, millimetres in rainfall.items():
        print(day, millimetres, sep=",", file=file)

{"wettest": wettest, "mean": round(statistics.mean(rainfall.values()), 2)}
