"""Training of the embedded model: `python -m train.STAGE`, one resumable command per stage.

Each command takes `--weights FOLDER`. A command that trains also takes `--runs FOLDER` for its
checkpoints, and `--fall MINUTES` for a fall of the learning rate at the end.

To go on from saved weights, work in a copy W of their folder, without the file SHA256SUMS
(weights/README.md says how to make it again):

    python -m train.tokenizer --warm --weights W/vq
    python -m train.tokenizer --decoder --weights W/vq
    python -m train.target --warm --weights W
    python -m train.drafter --warm --weights W
    python -m train.infill --warm --weights W
    python -m train.evaluate --choose --captions 60 --weights W
    python -m train.evaluate --weights W
    python -m train.evaluate_infill --weights W

Without `--warm` a stage begins with new weights, except that infilling begins with the target's.
The target is trained on the tokenizer's codes; the drafter is trained on the target's states.
"""

import os

# Spinning threads slow small matrix products many times over when other processes run.
os.environ.setdefault("OMP_WAIT_POLICY", "passive")
