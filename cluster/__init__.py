"""The page on a Ray cluster, as a Ray Serve application.

The page is one replica; races run on the replicas of a second deployment, the racers.
"""
