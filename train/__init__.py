"""How the embedded model was made, from nothing: `python -m train.STAGE`, one resumable command per
stage."""

import os

# Spinning threads stall small matrix products many times over as soon as anything else runs on the
# machine.
os.environ.setdefault("OMP_WAIT_POLICY", "passive")
