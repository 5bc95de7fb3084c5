"""`python -m engine race "red apple on sky clouds" --seed 7 --lanes ar,sjd --out race.json`."""

from engine.cli import main

main()
