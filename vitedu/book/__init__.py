"""What only the book needs: claims, proofs, exercises, figures."""
