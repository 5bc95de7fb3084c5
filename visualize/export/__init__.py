"""A race as one HTML file, and as a table for a spreadsheet."""
