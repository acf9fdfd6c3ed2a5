// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tacit/dp/accountant.hpp>
#include <tacit/dp/calibration.hpp>
#include <tacit/dp/composition.hpp>
#include <tacit/dp/contour/inversion.hpp>
#include <tacit/dp/contour/moment.hpp>
#include <tacit/dp/discretised.hpp>
#include <tacit/dp/dominating.hpp>
#include <tacit/dp/event.hpp>
#include <tacit/dp/filter.hpp>
#include <tacit/dp/gaussian.hpp>
#include <tacit/dp/grid/cells.hpp>
#include <tacit/dp/grid/convolution.hpp>
#include <tacit/dp/grid/discretisation.hpp>
#include <tacit/dp/grid/loss_grid.hpp>
#include <tacit/dp/grid/source.hpp>
#include <tacit/dp/mi_dp.hpp>
#include <tacit/dp/mixture_profile.hpp>
#include <tacit/dp/privacy_loss.hpp>
#include <tacit/dp/rdp/conversion.hpp>
#include <tacit/dp/rdp/divergence.hpp>
#include <tacit/dp/rdp/mixture.hpp>
#include <tacit/dp/rdp/table.hpp>
#include <tacit/dp/renyi.hpp>
#include <tacit/dp/trade_off.hpp>
#include <tacit/dp/zcdp.hpp>
