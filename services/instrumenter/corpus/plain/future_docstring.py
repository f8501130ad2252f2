#!/usr/bin/env python3
# -*- coding: utf-8 -*-
# markers: imported
"""A docstring that must stay one: pd.read_csv("train.csv")."""
from __future__ import annotations
from __future__ import generator_stop

import json, math
import os.path as path

print(__doc__, json.dumps({"pi": round(math.pi, 3)}), path.join("a", "b"), "é", "日本")
