#!/bin/sh
# Reads the arguments as JSON, appends them to notes.txt, and answers with JSON.
cat >> notes.txt
echo '"noted"'
