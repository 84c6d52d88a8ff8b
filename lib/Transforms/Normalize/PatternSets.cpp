//===- PatternSets.cpp - the sets that users can pick by name -------------===//
#include "redfuse/Transforms/Normalize/Normalize.h"
#include "redfuse/Transforms/Normalize/PatternRegistry.h"

using namespace redfuse;

// The sets of layer 1, under the names of their passes.
static const RegisterPatternSet sets[] = {
    {"normalize-generalize",
     "named ops, softmax and element-wise tensor arithmetic to linalg.generic",
     populateNormalizeGeneralizePatterns},
    {"normalize-dead-results", "unused results, operands and inits of generics",
     populateNormalizeDeadResultsPatterns},
    {"normalize-constants",
     "splat constants, 0-d constants and fills as scalars in bodies",
     populateNormalizeConstantsPatterns},
    {"normalize-reshapes",
     "reshapes into the loops of the generics around them",
     populateNormalizeReshapesPatterns},
    {"normalize-views",
     "copies, transposes, broadcasts and slices into indexing maps",
     populateNormalizeViewsPatterns},
    {"normalize-extents",
     "arithmetic on extents that is known to constants and products",
     populateNormalizeExtentsPatterns},
    {"normalize-reshape-ops",
     "tensor.reshape between shapes that match to expand and collapse",
     populateNormalizeReshapeOpsPatterns},
    {"normalize-gathers",
     "tensor.extract of what a generic computes to its body at that index",
     populateNormalizeGathersPatterns},
    {"normalize-broadcasts",
     "tensor.extract at loop indices to operands of the generic around it",
     populateNormalizeBroadcastsPatterns},
    {"normalize-powers", "powers by small whole constants to products",
     populateNormalizePowersPatterns},
    {"normalize-sorts", "sorts of which the first k elements are used to top-k",
     populateNormalizeSortsPatterns},
    {"normalize-scans", "running combinations to generics with every prefix",
     populateNormalizeScansPatterns},
    {"normalize-loops", "loops over elements that map and reduce to generics",
     populateNormalizeLoopsPatterns},
    {"normalize-captures",
     "scalars from computed 0-d tensors into the bodies that use them",
     populateNormalizeCapturesPatterns},
    {"lower-tm-tensor", "tm_tensor ops to scf loops on tensors",
     populateLowerTMTensorPatterns},
};
