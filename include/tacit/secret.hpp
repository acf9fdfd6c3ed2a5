// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tacit/secret/bernoulli.hpp>
#include <tacit/secret/chacha20.hpp>
#include <tacit/secret/discrete.hpp>
#include <tacit/secret/entropy.hpp>
#include <tacit/secret/guarded.hpp>
#include <tacit/secret/normal.hpp>
#include <tacit/secret/stream.hpp>
