"""Columns and attributes whose names mean something elsewhere."""

from urllib.parse import urlparse

import pandas as pd

visits = pd.DataFrame({
    "obj": ["a", "b", "a"],
    "url": ["http://x/?page=1", "http://x/?page=2&all", "http://x/"],
    "seconds": [3, 5, 8],
})
visits["page"] = visits["url"].map(lambda url: urlparse(url).query)
least = 4
print(sorted(visits.obj.unique()))
print(visits.query("seconds > @least and obj.str.len() == 1").page.tolist())
print(visits.eval("doubled = seconds * 2").doubled.sum())
print(visits.groupby("obj").obj.count().to_dict())
print(visits.agg({"seconds": ["min", "max"]}).seconds.tolist())
