"""Films and stills of a recorded race, drawn without its model."""
