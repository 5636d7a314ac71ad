"""Explorers: interactive figures that run in the browser, without a kernel."""

from vitedu.widgets.attention_distance import AttentionDistance
from vitedu.widgets.attention_plane import AttentionPlane
from vitedu.widgets.softmax_scaling import SoftmaxScaling

__all__ = ["AttentionDistance", "AttentionPlane", "SoftmaxScaling"]
