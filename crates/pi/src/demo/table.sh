#!/bin/sh
# Prints a multiplication table: sh table.sh [size]
size=${1:-5}

row=1
while [ "$row" -le "$size" ]; do
    column=1
    while [ "$column" -le "$size" ]; do
        printf '%s ' "$((row * column))"
        column=$((column + 1))
    done
    printf '\n'
    row=$((row + 1))
done
