"""Training of the embedded model from scratch: `python -m train.STAGE`, one resumable command per
stage."""

import os

# Spinning threads slow small matrix products many times over when other processes run.
os.environ.setdefault("OMP_WAIT_POLICY", "passive")
