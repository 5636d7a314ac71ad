// Large numbers with commas, 1,000.

// Not toLocaleString(): it looks up the language each time.
const { format: commas } = new Intl.NumberFormat("en");
