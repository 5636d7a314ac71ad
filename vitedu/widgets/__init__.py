"""Explorers: interactive figures that run in the browser, without a kernel."""

from vitedu.widgets.ask_patch import AskPatch
from vitedu.widgets.assumed_heads import AssumedHeads
from vitedu.widgets.attention_distance import AttentionDistance
from vitedu.widgets.attention_plane import AttentionPlane
from vitedu.widgets.bag_of_patches import BagOfPatches
from vitedu.widgets.collapse import Collapse
from vitedu.widgets.decoding_steps import DecodingSteps
from vitedu.widgets.delete_patches import DeletePatches
from vitedu.widgets.follow_digit import FollowDigit
from vitedu.widgets.follow_sentence import FollowSentence
from vitedu.widgets.head_viewer import HeadViewer
from vitedu.widgets.hide_and_guess import HideAndGuess
from vitedu.widgets.how_many_images import HowManyImages
from vitedu.widgets.mask_editor import MaskEditor
from vitedu.widgets.match import Match
from vitedu.widgets.model_counter import ModelCounter
from vitedu.widgets.norm_axes import NormAxes
from vitedu.widgets.own_photograph import OwnPhotograph
from vitedu.widgets.patch_by_patch import PatchByPatch
from vitedu.widgets.patch_cutter import PatchCutter
from vitedu.widgets.positional_encoding import PositionalEncoding
from vitedu.widgets.reach import Reach
from vitedu.widgets.reverse_trainer import ReverseTrainer
from vitedu.widgets.ring import Ring
from vitedu.widgets.rotary_pairs import RotaryPairs
from vitedu.widgets.softmax_scaling import SoftmaxScaling
from vitedu.widgets.teach_it import TeachIt
from vitedu.widgets.training import Training

__all__ = [
    "AskPatch",
    "AssumedHeads",
    "AttentionDistance",
    "AttentionPlane",
    "BagOfPatches",
    "Collapse",
    "DecodingSteps",
    "DeletePatches",
    "FollowDigit",
    "FollowSentence",
    "HeadViewer",
    "HideAndGuess",
    "HowManyImages",
    "MaskEditor",
    "Match",
    "ModelCounter",
    "NormAxes",
    "OwnPhotograph",
    "PatchByPatch",
    "PatchCutter",
    "PositionalEncoding",
    "Reach",
    "ReverseTrainer",
    "Ring",
    "RotaryPairs",
    "SoftmaxScaling",
    "TeachIt",
    "Training",
]
