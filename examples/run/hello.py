# What is printed streams out as it comes; the value of the last expression is the result.
import platform
import statistics

print("hello from CPython", platform.python_version())

rainfall = {"Mon": 3.1, "Tue": 0.0, "Wed": 12.4, "Thu": 7.7}
wettest = max(rainfall, key=rainfall.get)

with open("/output/rainfall.csv", "w") as file:
    for day, millimetres in rainfall.items():
        print(day, millimetres, sep=",", file=file)

{"wettest": wettest, "mean": round(statistics.mean(rainfall.values()), 2)}
