"""How the embedded model was made, from nothing: `python -m train.STAGE`, one resumable command per stage."""
