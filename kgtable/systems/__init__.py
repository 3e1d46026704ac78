"""Published systems of question answering over tables, each a method that retrieves and may answer."""
