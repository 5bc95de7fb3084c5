// Talk mode, and the guided tour.
