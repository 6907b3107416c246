from pathlib import Path

import numpy as np
import pandas as pd

dates = pd.date_range("2024-01-01", periods=6, freq="D")
frame = pd.DataFrame({"value": np.arange(6) ** 2}, index=dates)
frame["rolling"] = frame["value"].rolling(3).mean()
weekly = frame["value"].resample("3D").sum()
print(weekly.tolist(), frame["rolling"].iloc[-1], frame.iloc[0].to_dict())
frame.to_csv("/tmp/frame.csv")
frame.to_json("/tmp/frame.json", orient="records")
again = pd.read_csv("/tmp/frame.csv", index_col=0, parse_dates=True)
print(again.equals(frame) or again.shape == frame.shape, Path("/tmp/frame.json").stat().st_size > 10)
for when, row in again.head(2).iterrows():
    print(when.date(), int(row["value"]))
