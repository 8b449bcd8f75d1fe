"""Policies to test with."""

WHOLE = """\
# a policy
columns:
  name:    {role: identifier}   # never published
  age:     {role: quasi, taxonomy: {intervals: [5, 10, 20, 40], from: 0, to: 120}}
  zip:     {role: quasi, taxonomy: {prefix: [4, 3, 1]}}
  born:    {role: quasi, taxonomy: {date: [month, year, decade]}}
  sex:     {role: quasi}
  job:     {role: quasi, taxonomy: {file: job.csv}}
  disease: {role: sensitive, taxonomy: {tree: {Viral: [Flu, AIDS], Bacterial: [E.Coli, TB]}}}
  visits:  {role: insensitive}
promises:
  - k-anonymity: {k: 5}
  - l-diversity: {of: disease, l: 3, kind: recursive, c: 2}
  - t-closeness: {of: disease, t: 1/5, distance: hierarchical}
protect: {search: top-down, suppress: 5%, price: none, loss: discernibility, weights: {age: 2, zip: 0.5}}
missing: own-value
person: name
"""

SMALL = {
    "columns": {"a": {"role": "quasi"}, "d": {"role": "sensitive"}},
    "promises": [{"k-anonymity": {"k": 2}}],
    "protect": {"search": "top-down", "suppress": 0},
}

HEAD = "# a policy\ncolumns:\n  age: {role: quasi}\n  ill: {role: sensitive}\n"
TAIL = "promises:\n  - k-anonymity: {k: 5}\n"
