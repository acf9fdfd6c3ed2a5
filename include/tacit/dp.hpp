// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tacit/dp/accountant.hpp>
#include <tacit/dp/calibration.hpp>
#include <tacit/dp/composition.hpp>
#include <tacit/dp/contour.hpp>
#include <tacit/dp/discretisation.hpp>
#include <tacit/dp/discretised.hpp>
#include <tacit/dp/dominating.hpp>
#include <tacit/dp/event.hpp>
#include <tacit/dp/filter.hpp>
#include <tacit/dp/gaussian.hpp>
#include <tacit/dp/loss_cells.hpp>
#include <tacit/dp/loss_convolution.hpp>
#include <tacit/dp/loss_grid.hpp>
#include <tacit/dp/loss_source.hpp>
#include <tacit/dp/mi_dp.hpp>
#include <tacit/dp/moment.hpp>
#include <tacit/dp/privacy_loss.hpp>
#include <tacit/dp/renyi.hpp>
#include <tacit/dp/renyi_conversion.hpp>
#include <tacit/dp/renyi_divergence.hpp>
#include <tacit/dp/renyi_mixture.hpp>
#include <tacit/dp/renyi_table.hpp>
#include <tacit/dp/trade_off.hpp>
#include <tacit/dp/zcdp.hpp>
