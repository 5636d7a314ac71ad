// What Python keeps under a name for later, as bytes that the page loads now.
export async function later(model, name) {
  const reference = model.get("later")[name];
  const kept = await model.widget_manager.get_model(
    reference.replace("IPY_MODEL_", ""),
  );
  return kept.get("data");
}

export async function inflated(bytes) {
  const stream = new Blob([bytes]).stream()
    .pipeThrough(new DecompressionStream("deflate"));
  return new Response(stream).arrayBuffer();
}
