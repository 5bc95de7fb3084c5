"""Pictures of a race: of lanes, cells and codes, and the file that keeps them with the trace."""
