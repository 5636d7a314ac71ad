"""A deck of slides for each chapter, made from the built site."""
