// The life of a token: what every step did to one cell of one lane.
