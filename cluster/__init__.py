"""The page on a Ray cluster: the page itself is one replica of a Ray Serve application, and races
run on replicas of another, the racers."""
