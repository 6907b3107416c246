import io

import pandas as pd

csv = """date,city,temp
2024-01-01,Oslo,-3
2024-01-02,Oslo,-1
2024-01-01,Rome,12
2024-01-02,Rome,
"""
df = pd.read_csv(io.StringIO(csv), parse_dates=["date"])
df["temp"] = df["temp"].fillna(df["temp"].mean())
df["warm"] = df["temp"].apply(lambda t: t > 0)
summary = (df.groupby("city").agg(low=("temp", "min"), high=("temp", "max")).sort_values("high", ascending=False).reset_index())
print(summary.to_string(index=False))
print(df.query("temp > 0")["city"].unique().tolist(), df.shape, df.loc[df.city == "Oslo", "temp"].sum())
pivot = df.pivot_table(index="date", columns="city", values="temp")
print(pivot.round(1).to_dict("list"), df.dtypes["date"], pd.to_datetime("2024-03-01").day_name())
merged = df.merge(pd.DataFrame({"city": ["Oslo", "Rome"], "country": ["NO", "IT"]}), on="city", how="left")
print(merged["country"].value_counts().to_dict(), df.describe().loc["count", "temp"])
