// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tacit/pac/gap/axes.hpp>
#include <tacit/pac/gap/certificate.hpp>
#include <tacit/pac/gap/critics.hpp>
#include <tacit/pac/gap/estimate.hpp>
#include <tacit/pac/gap/in_turn.hpp>
#include <tacit/pac/gap/information.hpp>
#include <tacit/pac/gap/mixture.hpp>
#include <tacit/pac/gap/product_critic.hpp>
#include <tacit/pac/gap/sort.hpp>
#include <tacit/pac/gap/study.hpp>
#include <tacit/pac/gap/surrogate.hpp>
